/* files.c: what fileCache has done, as text. No state. */
#include "../contents/contents.h"
#include "counts.h"

void nest__metrics_files(struct nest__metrics_text *text, enum nest__metrics_format format) {
    struct nest__contents_counts counts = nest__contents_counts();
    nest__metrics_number(text, format, "nest_file_cache_hits",
                         "Files whose contents were in memory.", true, counts.hits);
    nest__metrics_number(text, format, "nest_file_cache_hit_size", "Bytes of these files.", true,
                         counts.hit_bytes);
    nest__metrics_number(text, format, "nest_file_cache_misses",
                         "Paths whose contents were not in memory, or too old.", true,
                         counts.misses);
    nest__metrics_number(text, format, "nest_file_cache_loads", "Files that were cached.", true,
                         counts.loads);
    nest__metrics_number(text, format, "nest_file_cache_evictions",
                         "Files that made room for others.", true, counts.evictions);
    nest__metrics_number(text, format, "nest_file_cache_files", "Files that are cached.", false,
                         counts.files);
    nest__metrics_number(text, format, "nest_file_cache_size",
                         "Bytes that contents take, in blocks.", false, counts.bytes);
}
