// The table of drafters: names, options, how to make one. The command line and benchmarks list it by themselves.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "spec/drafter.h"

namespace skipstone::spec {

/// Whether a drafter's specification names a file.
enum class NamesFile { no, may, must };

struct DrafterInfo {
  std::string_view name;     ///< "none", "asd"
  std::string_view summary;  ///< one line
  std::string_view options;  ///< "c=0.985,n=3,m=2,..." with the defaults
  bool lossless;
  NamesFile file = NamesFile::no;
};

std::span<const DrafterInfo> drafters();

/// From "NAME[:value][,key=value,...]", or several of these with '+' between them: a Chain. A '+' in a value separates only where the name
/// of a drafter and then ':', '+' or the end follow; "\+" never does. Throws invalid_argument naming the drafter, key or value that is
/// wrong and what would be right.
std::unique_ptr<Drafter> make_drafter(std::string_view specification);

/// The same, attached to a model. Where `left_out` is given, drafters that cannot be used (no such name, options that are wrong, a file
/// that cannot be read, a model that they do not fit) are left out and it is told why; where none is left, decoding is plain.
std::unique_ptr<Drafter> make_drafter(std::string_view specification, const ModelFacts& model,
                                      const std::function<void(const std::string& why)>& left_out = {});

/// Whether all of a specification's drafters are lossless; one that does not exist is not.
bool is_lossless(std::string_view specification);

}  // namespace skipstone::spec
