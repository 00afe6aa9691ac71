"""Building in processes of their own: ``helper`` is the parent's side, ``child`` the other."""
