"""Facts: the neutral account of what one answer says."""
