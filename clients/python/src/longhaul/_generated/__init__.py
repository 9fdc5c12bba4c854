"""Made from the served document by clients/generate/python; do not edit."""
