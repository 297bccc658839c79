#include "spirv_reflection.h"

#include <algorithm>
#include <cstring>

#include "base/status.h"

namespace skipstone::abi_test {
namespace {

enum Op : std::uint32_t {
  op_name = 5,
  op_member_name = 6,
  op_type_int = 21,
  op_type_float = 22,
  op_type_image = 25,
  op_type_sampled_image = 27,
  op_type_array = 28,
  op_type_struct = 30,
  op_type_pointer = 32,
  op_constant = 43,
  op_spec_constant = 50,
  op_spec_constant_composite = 51,
  op_variable = 59,
  op_decorate = 71,
  op_member_decorate = 72
};
enum Decoration : std::uint32_t { spec_id = 1, array_stride = 6, built_in = 11, binding = 33, descriptor_set = 34, offset_of = 35 };
constexpr std::uint32_t workgroup_size = 25, push_constant_storage = 9, buffer_dimension = 5;

struct Instruction {
  std::uint32_t op = 0;
  std::span<const std::uint32_t> operands;
};

std::string text_of(std::span<const std::uint32_t> words) {
  const auto* bytes = reinterpret_cast<const char*>(words.data());
  return {bytes, ::strnlen(bytes, words.size_bytes())};
}

class Module {
 public:
  explicit Module(std::span<const std::uint32_t> words) {
    if (words.size() < 5 || words[0] != 0x07230203u) fail(Code::bad_file, "these words are no SPIR-V");
    for (std::size_t at = 5; at < words.size();) {
      const std::uint32_t length = words[at] >> 16;
      if (length == 0 || at + length > words.size()) fail(Code::bad_file, "SPIR-V instruction at word {} is damaged", at);
      add({words[at] & 0xffffu, words.subspan(at + 1, length - 1)});
      at += length;
    }
  }

  Reflection reflection() const {
    Reflection r;
    // The compiler makes a second, nameless constant with the same number for the workgroup's size.
    for (const auto& [id, number] : spec_ids_) {
      if (!(name(id).empty() && workgroup_uses(id))) r.constants.push_back({number, name(id), values_.at(id)});
    }
    std::sort(r.constants.begin(), r.constants.end(), [](const Constant& a, const Constant& b) { return a.id < b.id; });
    for (const auto& [variable, pointer] : variables_) add_variable(r, variable, pointer);
    for (const auto& [id, members] : structs_) {
      if (member_offsets_.count(id) != 0) r.blocks.emplace(name(id), layout(id));
    }
    add_workgroup(r);
    return r;
  }

 private:
  void add(const Instruction& i) {
    const auto& o = i.operands;
    switch (i.op) {
      case op_name:
        names_[o[0]] = text_of(o.subspan(1));
        break;
      case op_member_name:
        member_names_[o[0]][o[1]] = text_of(o.subspan(2));
        break;
      case op_type_int:
        types_[o[0]] = o[1] == 32 ? (o[2] == 0 ? "uint" : "int") : "?";
        break;
      case op_type_float:
        types_[o[0]] = o[1] == 32 ? "float" : "?";
        break;
      case op_type_image:
        texels_[o[0]] = o[2] == buffer_dimension;
        break;
      case op_type_sampled_image:
        texels_[o[0]] = texels_[o[1]];
        break;
      case op_type_array:
        arrays_[o[0]] = {o[1], o[2]};
        break;
      case op_type_struct:
        structs_[o[0]] = {o.begin() + 1, o.end()};
        break;
      case op_type_pointer:
        pointers_[o[0]] = {o[1], o[2]};
        break;
      case op_constant:
      case op_spec_constant:
        values_[o[1]] = o[2];
        break;
      case op_spec_constant_composite:
        composites_[o[1]] = {o.begin() + 2, o.end()};
        break;
      case op_variable:
        variables_[o[1]] = o[0];
        break;
      case op_decorate:
        decorate(o);
        break;
      case op_member_decorate:
        if (o[2] == offset_of) member_offsets_[o[0]][o[1]] = o[3];
        break;
      default:
        break;
    }
  }

  void decorate(std::span<const std::uint32_t> o) {
    if (o[1] == spec_id) spec_ids_[o[0]] = o[2];
    if (o[1] == binding) bindings_[o[0]] = o[2];
    if (o[1] == descriptor_set) sets_[o[0]] = o[2];
    if (o[1] == array_stride) strides_[o[0]] = o[2];
    if (o[1] == built_in && o[2] == workgroup_size) workgroup_ = o[0];
  }

  std::string name(std::uint32_t id) const {
    const auto found = names_.find(id);
    return found == names_.end() ? "" : found->second;
  }

  std::string type(std::uint32_t id) const {
    if (const auto found = types_.find(id); found != types_.end()) return found->second;
    const auto array = arrays_.find(id);
    if (array == arrays_.end()) return "?";
    // Elements must be as close as they do in C++.
    const auto stride = strides_.find(id);
    if (stride == strides_.end() || stride->second != 4) return "?";
    return type(array->second.first) + "[" + std::to_string(values_.at(array->second.second)) + "]";
  }

  std::vector<Member> layout(std::uint32_t id) const {
    std::vector<Member> members;
    const auto& types = structs_.at(id);
    for (std::uint32_t i = 0; i < types.size(); ++i)
      members.push_back({member_names_.at(id).at(i), type(types[i]), member_offsets_.at(id).at(i)});
    return members;
  }

  void add_variable(Reflection& r, std::uint32_t variable, std::uint32_t pointer) const {
    const auto [storage, pointee] = pointers_.at(pointer);
    if (storage == push_constant_storage) r.push = layout(pointee);
    const auto bound = bindings_.find(variable);
    if (bound == bindings_.end()) return;
    const auto set = sets_.find(variable);
    if (set == sets_.end() || set->second != 0) fail(Code::unsupported, "'{}' is not in set 0", name(variable));
    const auto texel = texels_.find(pointee);
    r.bindings[bound->second] = texel != texels_.end() && texel->second;
  }

  bool workgroup_uses(std::uint32_t constant) const {
    const auto parts = composites_.find(workgroup_);
    return parts != composites_.end() && std::find(parts->second.begin(), parts->second.end(), constant) != parts->second.end();
  }

  void add_workgroup(Reflection& r) const {
    const auto parts = composites_.find(workgroup_);
    if (parts == composites_.end() || parts->second.size() != 3) return;
    if (const auto id = spec_ids_.find(parts->second[0]); id != spec_ids_.end()) r.local_size_x_id = id->second;
    r.one_dimensional = values_.at(parts->second[1]) == 1 && values_.at(parts->second[2]) == 1;
  }

  std::map<std::uint32_t, std::string> names_, types_;
  std::map<std::uint32_t, std::map<std::uint32_t, std::string>> member_names_;
  std::map<std::uint32_t, std::map<std::uint32_t, std::uint32_t>> member_offsets_;
  std::map<std::uint32_t, std::pair<std::uint32_t, std::uint32_t>> arrays_, pointers_;  // element, length; storage class, pointee
  std::map<std::uint32_t, std::vector<std::uint32_t>> structs_, composites_;
  std::map<std::uint32_t, std::uint32_t> values_, variables_, spec_ids_, bindings_, sets_, strides_;
  std::map<std::uint32_t, bool> texels_;
  std::uint32_t workgroup_ = 0;
};

}  // namespace

Reflection reflect(std::span<const std::uint32_t> words) { return Module(words).reflection(); }

}  // namespace skipstone::abi_test
