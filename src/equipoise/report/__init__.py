"""From findings to what people read: tables on a terminal, and pages."""
