// The table of drafters: names, options, how to make one. The command line and benchmarks list it by themselves.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "spec/drafter.h"

namespace skipstone::spec {

struct DrafterInfo {
  std::string_view name;     ///< "none", "asd"
  std::string_view summary;  ///< one line
  std::string_view options;  ///< "c=0.985,n=3,m=2,..." with the defaults
  bool lossless;
};

std::span<const DrafterInfo> drafters();

/// From "NAME[:value][,key=value,...]". Throws invalid_argument naming the drafter, key or value that is wrong and what would be right.
std::unique_ptr<Drafter> make_drafter(std::string_view specification);

}  // namespace skipstone::spec
