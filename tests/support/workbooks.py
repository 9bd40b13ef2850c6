"""Excel workbooks written part by part, as Excel writes them, and as an enemy might."""

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
TYPES = (
    f'<Types xmlns="{PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/>'
    '<Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/></Types>'
)
STYLES = (
    '<numFmts><numFmt numFmtId="164" formatCode="[$-409]d\\-mmm\\-yy;@"/><numFmt numFmtId="165" formatCode="[h]:mm"/>'
    '<numFmt numFmtId="166" formatCode="0.00&quot;days&quot;"/></numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs>'
    "<cellXfs>" + "".join(f'<xf numFmtId="{number}"/>' for number in (0, 14, 22, 20, 164, 165, 166)) + "</cellXfs>"
)  # the styles 0 to 6: a number, a day, a moment, a time, a day of Excel's own format, hours, and a number of "days"


def column_letters(number: int) -> str:
    return (chr(64 + (number - 1) // 26) if number > 26 else "") + chr(65 + (number - 1) % 26)


def sheet_xml(rows: Sequence[Sequence[str | int | float | None]], tail: str = "") -> str:
    """Cells as inline strings and numbers; a string that begins with < is the inside of a <c> element, with its attributes before a bar."""
    parts = []
    for number, row in enumerate(rows, 1):
        cells = []
        for column, value in enumerate(row, 1):
            reference = f"{column_letters(column)}{number}"
            if isinstance(value, str) and value.startswith("<"):
                attributes, _, inside = value[1:].partition("|")
                cells.append(f'<c r="{reference}" {attributes}>{inside}</c>')
            elif isinstance(value, str):
                cells.append(f'<c r="{reference}" t="inlineStr"><is><t xml:space="preserve">{escape(value)}</t></is></c>')
            elif value is not None:
                cells.append(f'<c r="{reference}"><v>{value}</v></c>')
        parts.append(f'<row r="{number}">{"".join(cells)}</row>')
    return f'<worksheet xmlns="{MAIN}"><sheetData>{"".join(parts)}</sheetData>{tail}</worksheet>'


def write_workbook(path: Path, sheets: Mapping[str, str], *, strings: str = "", hidden: Sequence[str] = (), properties: str = "") -> Path:
    """`sheets` are XML by title, `strings` the inside of the table of shared strings."""
    names = "".join(
        f'<sheet name="{escape(title)}" sheetId="{number}" r:id="s{number}"{" state=" + chr(34) + "hidden" + chr(34) if title in hidden else ""}/>'
        for number, title in enumerate(sheets, 1)
    )
    relations = "".join(
        f'<Relationship Id="s{number}" Type="{RELATIONS}/worksheet" Target="worksheets/sheet{number}.xml"/>' for number in range(1, len(sheets) + 1)
    )
    relations += f'<Relationship Id="x" Type="{RELATIONS}/sharedStrings" Target="/xl/sharedStrings.xml"/>'
    relations += f'<Relationship Id="y" Type="{RELATIONS}/styles" Target="styles.xml"/>'
    relations += f'<Relationship Id="z" Type="{RELATIONS}/externalLink" Target="http://example.org/a.xlsx" TargetMode="External"/>'
    parts = {
        "[Content_Types].xml": TYPES,
        "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r" Type="{RELATIONS}/officeDocument" '
        'Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{RELATIONS}">{properties}<sheets>{names}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}/relationships">{relations}</Relationships>',
        "xl/sharedStrings.xml": f'<sst xmlns="{MAIN}">{strings}</sst>',
        "xl/styles.xml": f'<styleSheet xmlns="{MAIN}">{STYLES}</styleSheet>',
    }
    parts |= {f"xl/worksheets/sheet{number}.xml": xml for number, xml in enumerate(sheets.values(), 1)}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, xml in parts.items():
            archive.writestr(name, xml)
    return path
