"""What the pages say, worked out from the tables: a page's figures in a module of its own."""
