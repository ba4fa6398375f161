"""Tasks and their pending decisions, as rows of arrays. Private to `live`."""
