"""The ground floor: errors, processes, locks, tables of plugins. Nothing here shapes a result."""
