"""Pages: each reads what it shows and hands it to its template."""
