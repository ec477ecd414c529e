"""Between Trimtab's records and Cloud Run's messages: reading a service, and the requests that change one."""
