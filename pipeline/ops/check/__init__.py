"""What is missing on this machine or not answering, and how to fix it."""
