#include "api/report.h"

#include <map>

#include "json/json.h"

namespace skipstone::api {

std::string print(const Json& document) { return document.dump(2, ' ', false, Json::error_handler_t::replace); }

Json tensor_types_json(const gguf::File& file) {
  struct Sum {
    std::uint64_t tensors = 0, weights = 0, bytes = 0;
  };
  std::map<gguf::Type, Sum> sums;
  for (const gguf::Tensor& tensor : file.tensors()) {
    Sum& sum = sums[tensor.type];
    ++sum.tensors;
    sum.weights += tensor.elements();
    sum.bytes += tensor.data.size();
  }
  Json list = Json::array();
  for (const auto& [type, sum] : sums) {
    const gguf::Traits& traits = gguf::traits(type);
    list.push_back(
        {{"type", traits.name}, {"runnable", traits.runnable}, {"tensors", sum.tensors}, {"weights", sum.weights}, {"bytes", sum.bytes}});
  }
  return list;
}

}  // namespace skipstone::api
