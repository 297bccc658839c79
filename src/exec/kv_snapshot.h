// A copy of a sequence's keys and values, to go back to.
#pragma once

#include "exec/executor.h"

namespace skipstone::exec {

/// Takes as much device memory as the KV cache. Lives no longer than the sequence.
class KvSnapshot {
 public:
  /// Copies what is in the cache now. Throws out_of_memory.
  KvSnapshot(const std::shared_ptr<vk::Device>& device, Executor& sequence);
  /// Writes it back, bit by bit.
  void restore();
  /// `to`, a sequence of the same model, context and cache format on the same device, gets the keys and values of `from`.
  static void copy(Executor& from, Executor& to);

 private:
  Executor& sequence_;
  vk::Arena arena_;
  std::unique_ptr<vk::Commands> back_;
};

}  // namespace skipstone::exec
