"""The claims of the papers, each decided by the results of a study."""
