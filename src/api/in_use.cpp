#include "api/in_use.h"

#include <utility>

#include "base/status.h"

namespace skipstone::api {
namespace {

const Within*& innermost() noexcept {
  thread_local const Within* within = nullptr;
  return within;
}

}  // namespace

Within::Within(const engine::Engine* engine) noexcept : engine_(engine), outer_(std::exchange(innermost(), this)) {}

Within::~Within() { innermost() = outer_; }

void Within::require_outside(const engine::Engine* engine) {
  for (const Within* within = innermost(); within != nullptr; within = within->outer_) {
    if (within->engine_ != engine) continue;
    fail(Code::invalid_argument,
         "the engine is in use by the call whose callback this is; its sessions can be used when that has returned");
  }
}

}  // namespace skipstone::api
