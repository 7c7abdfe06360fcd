"""Many tenants in one process, over HTTP."""
