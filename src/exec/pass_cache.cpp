#include "exec/pass_cache.h"

#include <algorithm>

namespace skipstone::exec {

const vk::Commands& PassCache::get(const PassSpec& spec) {
  ++clock_;
  if (const auto found = passes_.find(spec); found != passes_.end()) {
    found->second.used = clock_;
    return *found->second.commands;
  }
  if (passes_.size() >= capacity) {
    passes_.erase(
        std::min_element(passes_.begin(), passes_.end(), [](const auto& a, const auto& b) { return a.second.used < b.second.used; }));
  }
  Entry entry{std::make_unique<vk::Commands>(record_(spec)), clock_};
  return *passes_.emplace(spec, std::move(entry)).first->second.commands;
}

}  // namespace skipstone::exec
