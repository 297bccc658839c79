// The types of JSON documents, for headers; include json/json.h to use them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace skipstone {

/// nlohmann's serializer under our own name, so that our documents can have our own destructor.
template <typename T, typename = void>
struct JsonSerializer;

/// An object keeps its keys in insertion order and finds them linearly: for reports, caches, states.
using Json = nlohmann::basic_json<nlohmann::ordered_map, std::vector, std::string, bool, std::int64_t, std::uint64_t, double,
                                  std::allocator, JsonSerializer>;

/// An object has its keys sorted: for external files, whose objects may have a hundred thousand of them.
using SortedJson =
    nlohmann::basic_json<std::map, std::vector, std::string, bool, std::int64_t, std::uint64_t, double, std::allocator, JsonSerializer>;

}  // namespace skipstone
