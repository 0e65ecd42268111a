"""Parts of pages: layout, filters, header, formatting."""
