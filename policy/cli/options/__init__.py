"""What each verb is told, and its help: to explain itself it loads nothing else."""
