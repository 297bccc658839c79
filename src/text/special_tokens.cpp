#include "text/special_tokens.h"

namespace skipstone::text {

void SpecialTokens::add(std::string_view written, Token token) {
  std::uint32_t node = 0;
  for (std::size_t i = 0; i < written.size(); ++i) {
    const auto byte = static_cast<unsigned char>(written[i]);
    std::uint32_t& next = i == 0 ? roots_[byte] : edges_[std::uint64_t{node} * 256 + byte];
    if (next == 0) {
      next = static_cast<std::uint32_t>(ends_.size());
      ends_.push_back(-1);
    }
    node = next;
  }
  if (node != 0 && ends_[node] < 0) ends_[node] = token;
}

std::uint32_t SpecialTokens::child(std::uint32_t node, unsigned char byte) const {
  const auto found = edges_.find(std::uint64_t{node} * 256 + byte);
  return found == edges_.end() ? 0 : found->second;
}

}  // namespace skipstone::text
