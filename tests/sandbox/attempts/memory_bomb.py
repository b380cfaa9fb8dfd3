# Use memory without end, all of which is written to.
kept = []
try:
    while len(kept) * 16 < 4 * MEMORY_MB:
        kept.append(bytearray(16 << 20))
    print("escaped:", len(kept) * 16, "MiB")
except MemoryError:
    kept.clear()
held()
