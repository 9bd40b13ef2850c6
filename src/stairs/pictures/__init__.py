"""One function per picture: plain data in, an Altair chart out."""
