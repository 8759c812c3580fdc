"""How things are written and read: files, typed records, text from elsewhere, downloads."""
