// The table of drafters: names, options, how to make one. The command line and benchmarks list it by themselves.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "speculation/drafter.h"

namespace skipstone::speculation {

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

/// Specifications come from strangers too (a server's clients), and each member of one has a state and takes time to be made.
constexpr std::size_t most_specification_bytes = 1024;
constexpr std::size_t most_members = 8;

/// The members of "a:x+b:y", "\+" as "+". Throws invalid_argument where the specification is longer than most_specification_bytes, has more
/// members than most_members, or the same one twice: the same drafter with the same value and options, as they are written.
std::vector<std::string> members_of(std::string_view specification);

/// The drafter that a member names.
std::string_view name_of(std::string_view member);

/// From "NAME[:value][,key=value,...]", or several of these with '+' between them: a Chain. A '+' in a value separates only where the name
/// of a drafter and then ':', '+' or the end follow; "\+" never does. Throws invalid_argument naming the drafter, key or value that is
/// wrong and what would be right, or what members_of() refuses.
std::unique_ptr<Drafter> make_drafter(std::string_view specification);

/// The same, attached to a model. Where `left_out` is given, drafters that cannot be used (no such name, options that are wrong, a file
/// that cannot be read, a model that they do not fit) are left out and it is told why; where none is left, decoding is plain.
std::unique_ptr<Drafter> make_drafter(std::string_view specification, const ModelFacts& model,
                                      const std::function<void(const std::string& why)>& left_out = {});

/// Whether all of a specification's drafters are lossless; one that does not exist is not, nor what members_of() refuses.
bool is_lossless(std::string_view specification);

}  // namespace skipstone::speculation
