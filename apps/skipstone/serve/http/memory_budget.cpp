#include "serve/http/memory_budget.h"

namespace cli::serve {

const char* name_of(MemoryUse use) {
  switch (use) {
    case MemoryUse::connections:
      return "connections";
    case MemoryUse::bodies:
      return "bodies";
    case MemoryUse::answers:
      return "answers";
    case MemoryUse::events:
      break;
  }
  return "events";
}

bool MemoryBudget::take(MemoryUse use, std::size_t more, std::size_t bytes) {
  const std::size_t limit = bytes >= MemoryShare::large_bytes ? limit_of_large()
                            : use == MemoryUse::connections   ? limit_
                                                              : limit_of_small();
  std::size_t before = all_;
  do {
    if (before > limit || more > limit - before) return false;
  } while (!all_.compare_exchange_weak(before, before + more));
  used_[static_cast<std::size_t>(use)] += more;
  return true;
}

void MemoryBudget::give_back(MemoryUse use, std::size_t bytes) {
  all_ -= bytes;
  given_back_ += bytes;
  used_[static_cast<std::size_t>(use)] -= bytes;
}

MemoryShare& MemoryShare::operator=(MemoryShare&& other) noexcept {
  if (this == &other) return *this;
  shrink(0);
  budget_ = std::move(other.budget_);
  use_ = other.use_;
  bytes_ = std::exchange(other.bytes_, 0);
  return *this;
}

bool MemoryShare::resize(std::size_t bytes) {
  if (bytes <= bytes_) {
    shrink(bytes);
    return true;
  }
  if (budget_ != nullptr && !budget_->take(use_, bytes - bytes_, bytes)) return false;
  bytes_ = bytes;
  return true;
}

void MemoryShare::shrink(std::size_t bytes) noexcept {
  if (budget_ != nullptr && bytes_ > bytes) budget_->give_back(use_, bytes_ - bytes);
  bytes_ = bytes;
}

}  // namespace cli::serve
