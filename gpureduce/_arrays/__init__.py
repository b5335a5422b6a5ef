"""Where elements lie: our own arrays on devices, those of others, and operands of either kind."""
