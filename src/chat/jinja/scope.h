// Variables by scope: loops, macros and blocks have their own, an `if` has not.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "chat/jinja/value.h"

namespace skipstone::chat::jinja {

struct Scope {
  std::shared_ptr<Scope> parent;
  std::vector<std::pair<std::uint32_t, Value>> variables;

  explicit Scope(std::shared_ptr<Scope> outer) : parent(std::move(outer)) {}

  /// The value in this scope or the ones around it; null where it is in none.
  const Value* find(std::uint32_t symbol) const {
    for (const Scope* scope = this; scope != nullptr; scope = scope->parent.get()) {
      for (const auto& [known, value] : scope->variables) {
        if (known == symbol) return &value;
      }
    }
    return nullptr;
  }

  void set(std::uint32_t symbol, Value value) {
    for (auto& [known, old] : variables) {
      if (known != symbol) continue;
      old = std::move(value);
      return;
    }
    variables.emplace_back(symbol, std::move(value));
  }
};

}  // namespace skipstone::chat::jinja
