#include "exec/kv_snapshot.h"

#include "vk/recorder.h"

namespace skipstone::exec {

KvSnapshot::KvSnapshot(const std::shared_ptr<vk::Device>& device, Executor& sequence) : sequence_(sequence), arena_(device, vk::Role::kv) {
  vk::Recorder there(device), back(device);
  for (std::uint32_t layer = 0; layer < sequence.config_.layers; ++layer) {
    for (const kernels::ResourceKind kind : {kernels::ResourceKind::k_cache, kernels::ResourceKind::v_cache}) {
      const vk::Slice cache = sequence.buffers_.slice({kind, layer}), copy = arena_.allocate(cache.bytes);
      there.copy(cache, copy);
      back.copy(copy, cache);
    }
  }
  sequence.wait(sequence.queue_.submit(there.finish()));
  back_ = std::make_unique<vk::Commands>(back.finish());
}

void KvSnapshot::copy(Executor& from, Executor& to) {
  vk::Recorder recorder(to.device_);
  for (std::uint32_t layer = 0; layer < from.config_.layers; ++layer) {
    for (const kernels::ResourceKind kind : {kernels::ResourceKind::k_cache, kernels::ResourceKind::v_cache}) {
      recorder.copy(from.buffers_.slice({kind, layer}), to.buffers_.slice({kind, layer}));
    }
  }
  to.wait(to.queue_.submit(recorder.finish()));
}

void KvSnapshot::restore() { sequence_.wait(sequence_.queue_.submit(*back_)); }

}  // namespace skipstone::exec
