"""What do clients lose when processes die: real servers, killed, stopped and restarted in mid-write."""
