#include "speculation/bigrams.h"

#include "base/status.h"

namespace skipstone::speculation {

Bigrams::Bigrams(std::uint32_t width, std::vector<Token> next) : width_(width), next_(std::move(next)) {
  if (width_ == 0 || next_.size() % width_ != 0) fail(Code::internal, "{} bigrams are no table of width {}", next_.size(), width_);
}

std::span<const Token> Bigrams::after(Token token) const {
  if (token < 0 || static_cast<std::uint32_t>(token) >= vocabulary()) return {};
  return std::span(next_).subspan(static_cast<std::size_t>(token) * width_, width_);
}

}  // namespace skipstone::speculation
