#include <algorithm>
#include <array>

#include "base/stopwatch.h"
#include "selftest/selftest.h"
#include "vk/memory.h"
#include "vk/recorder.h"

namespace skipstone::selftest {

double copy_bandwidth(std::shared_ptr<vk::Device> device) {
  // Larger than last-level caches of today (server CPUs: up to about 100 MiB shared by a core's group); a small heap gives what it can.
  constexpr std::uint64_t wanted = std::uint64_t{256} << 20, least = std::uint64_t{16} << 20;
  const vk::Caps& caps = device->caps();
  std::uint64_t bytes = std::max(least, std::min({wanted, caps.device_bytes() / 8, caps.max_allocation / 2}));
  bytes = bytes / 4096 * 4096;
  vk::Arena arena(device, vk::Role::kv, bytes);
  const vk::Slice from = arena.allocate(bytes), to = arena.allocate(bytes);
  vk::Recorder recorder(device);
  recorder.copy(from, to);
  const vk::Commands commands = recorder.finish();
  vk::Queue queue(device);
  queue.submit_and_wait(commands);  // first touch
  std::array<double, 5> seconds{};
  for (double& time : seconds) {
    const Stopwatch watch;
    queue.submit_and_wait(commands);
    time = watch.seconds();
  }
  std::sort(seconds.begin(), seconds.end());
  return 2.0 * static_cast<double>(bytes) / seconds[seconds.size() / 2];
}

}  // namespace skipstone::selftest
