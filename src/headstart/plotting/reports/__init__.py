"""Reports of studies: figures, tables and documents from results, whatever the study."""
