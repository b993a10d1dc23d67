"""What people read: pages, pictures and tables in a terminal."""
