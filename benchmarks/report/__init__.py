"""Tables and charts of committed results, for the README and docs/."""
