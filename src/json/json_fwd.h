// The types of JSON documents, for headers; json/json.h has what is needed to use them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace skipstone {

/// nlohmann's own, under a name of ours: documents that are ours can have a destructor of ours.
template <typename T, typename = void>
struct JsonSerializer;

/// An object keeps its keys in the order in which they came, and finds them one by one: reports, caches, states.
using Json = nlohmann::basic_json<nlohmann::ordered_map, std::vector, std::string, bool, std::int64_t, std::uint64_t, double,
                                  std::allocator, JsonSerializer>;

/// An object has its keys sorted: files of others, whose objects may have a hundred thousand of them.
using SortedJson =
    nlohmann::basic_json<std::map, std::vector, std::string, bool, std::int64_t, std::uint64_t, double, std::allocator, JsonSerializer>;

}  // namespace skipstone
