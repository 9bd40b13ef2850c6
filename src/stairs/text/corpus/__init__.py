"""Raw text: the documents of files and folders, as a stream."""
