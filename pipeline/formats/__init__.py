"""Reading and writing: files, typed records, untrusted text, downloads."""
