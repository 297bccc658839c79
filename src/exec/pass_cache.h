// Recorded command buffers by PassSpec: a pass is recorded once and replayed for every token.
#pragma once

#include <functional>
#include <memory>
#include <unordered_map>

#include "exec/plan.h"
#include "vk/recorder.h"

namespace skipstone::exec {

class PassCache {
 public:
  using Record = std::function<vk::Commands(const PassSpec&)>;
  explicit PassCache(Record record) : record_(std::move(record)) {}

  const vk::Commands& get(const PassSpec& spec);
  void clear() { passes_.clear(); }
  std::size_t size() const { return passes_.size(); }

 private:
  /// Skip sets made per prompt would grow the cache for ever; beyond this many, those not used for longest go.
  static constexpr std::size_t capacity = 64;

  struct Entry {
    std::unique_ptr<vk::Commands> commands;
    std::uint64_t used = 0;
  };
  Record record_;
  std::unordered_map<PassSpec, Entry, PassSpecHash> passes_;
  std::uint64_t clock_ = 0;
};

}  // namespace skipstone::exec
