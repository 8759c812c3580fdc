"""What is wrong or won cheaply in a set of questions: rules, leaks, balance, contradictions."""
