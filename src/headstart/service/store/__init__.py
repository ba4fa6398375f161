"""The store: tables, migrations, and the databases that they are in."""
