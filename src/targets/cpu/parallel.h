// The one place where threads are used.
#pragma once

#include <cstdint>
#include <functional>

namespace unfuse::cpu {

/// Calls body(begin, end) on disjoint parts that together cover [0, count), on up to `threads`
/// threads, this one included. Each part but the last is a multiple of `grain` long. Runs in place
/// when one part is enough or inside another parallel_for. An exception from body is rethrown here.
void parallel_for(int threads, std::int64_t count, std::int64_t grain,
                  const std::function<void(std::int64_t begin, std::int64_t end)>& body);

/// OMP_NUM_THREADS when set, else the cores this process may use.
int default_threads();

/// Index of the calling thread within the current parallel_for, below its `threads`; 0 outside.
int thread_index();

}  // namespace unfuse::cpu
