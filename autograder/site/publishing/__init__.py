"""The site among other sites: addresses, files for machines, the folder that is published."""
