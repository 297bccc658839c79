// Recordings of passes, by PassSpec: a pass is recorded once and replayed for every token.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <unordered_map>
#include <utility>

#include "exec/plan.h"

namespace skipstone::exec {

template <typename Recording>
class PassCache {
 public:
  using Record = std::function<Recording(const PassSpec&)>;
  explicit PassCache(Record record) : record_(std::move(record)) {}

  Recording& get(const PassSpec& spec) {
    ++clock_;
    auto found = passes_.find(spec);
    if (found == passes_.end()) {
      if (passes_.size() >= capacity) {
        passes_.erase(std::ranges::min_element(passes_, {}, [](const auto& pass) { return pass.second.used; }));
      }
      found = passes_.emplace(spec, Entry{std::make_unique<Recording>(record_(spec))}).first;
    }
    found->second.used = clock_;
    return *found->second.recording;
  }
  void clear() { passes_.clear(); }
  std::size_t size() const { return passes_.size(); }

 private:
  /// Skip sets made per prompt would grow the cache for ever; beyond this many, the least recently used are removed.
  static constexpr std::size_t capacity = 64;

  struct Entry {
    std::unique_ptr<Recording> recording;
    std::uint64_t used = 0;
  };
  Record record_;
  std::unordered_map<PassSpec, Entry, PassSpecHash> passes_;
  std::uint64_t clock_ = 0;
};

}  // namespace skipstone::exec
