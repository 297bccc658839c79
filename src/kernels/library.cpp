#include "kernels/library.h"

#include <map>
#include <mutex>
#include <tuple>
#include <vector>

#include "base/hash.h"
#include "base/status.h"
#include "kernels/kernel_table.h"

namespace skipstone::kernels {

struct Library::State {
  State(std::shared_ptr<vk::Device> d, const std::string& directory)
      : device(std::move(d)), factory(device, vk::pipeline_cache_file(directory, device->caps(), shader_hash())) {}

  std::shared_ptr<vk::Device> device;
  vk::PipelineFactory factory;
  std::map<KernelId, std::span<const std::uint32_t>> replaced;

  /// Created once, by the first thread that requests it; others that request it wait, those that request another one do not.
  struct Entry {
    std::once_flag made;
    std::unique_ptr<vk::Pipeline> pipeline;
  };
  mutable std::mutex mutex;                                                                    // of the map, not of the entries
  std::map<std::tuple<KernelId, std::vector<std::uint32_t>, std::uint32_t>, Entry> pipelines;  // by kernel, constants, lanes of a subgroup

  std::unique_ptr<vk::Pipeline> make(KernelId kernel, std::span<const std::uint32_t> constants, std::uint32_t subgroup);
};

Library::Library(std::shared_ptr<vk::Device> device, const std::string& cache_directory)
    : state_(std::make_unique<State>(std::move(device), cache_directory)) {}

Library::~Library() = default;

const std::shared_ptr<vk::Device>& Library::device() const { return state_->device; }

std::unique_ptr<vk::Pipeline> Library::State::make(KernelId kernel, std::span<const std::uint32_t> constants, std::uint32_t subgroup) {
  const KernelInfo& facts = info(kernel);
  if (facts.spirv.empty())
    fail(Code::unsupported, "this build has no kernel {}: configure it with a newer shader compiler (CONTRIBUTING.md)", facts.name);
  if (constants.size() > facts.constants) {
    fail(Code::internal, "kernel {} takes at most {} constants, not {}", facts.name, facts.constants, constants.size());
  }
  vk::PipelineSpec spec;
  spec.name = facts.name;
  const auto other = replaced.find(kernel);
  spec.spirv = other == replaced.end() ? facts.spirv : other->second;
  spec.bindings = facts.buffers;
  spec.texel_bindings = facts.texel_buffers;
  spec.push_bytes = facts.push_bytes;
  spec.constants.assign(constants.begin(), constants.end());
  spec.required_subgroup = subgroup;
  return factory.create(spec);
}

const vk::Pipeline& Library::pipeline(KernelId kernel, std::span<const std::uint32_t> constants, std::uint32_t subgroup) {
  State::Entry* entry = nullptr;
  {
    const std::lock_guard lock(state_->mutex);
    entry = &state_->pipelines.try_emplace({kernel, {constants.begin(), constants.end()}, subgroup}).first->second;
  }
  // If creating it throws, the next caller tries again and gets the error too.
  std::call_once(entry->made, [&] { entry->pipeline = state_->make(kernel, constants, subgroup); });
  return *entry->pipeline;
}

void Library::replace(KernelId kernel, std::span<const std::uint32_t> spirv) { state_->replaced[kernel] = spirv; }

void Library::save_cache() { state_->factory.save(); }

std::size_t Library::size() const {
  const std::lock_guard lock(state_->mutex);
  return state_->pipelines.size();
}

std::size_t Library::cache_hits() const { return state_->factory.cache_hits(); }

void record(vk::Recorder& recorder, Library& library, const Dispatch& dispatch, const Resolver& resolve) {
  std::vector<vk::Binding> bindings;
  bindings.reserve(dispatch.operands.size());
  for (const Operand& operand : dispatch.operands) {
    const vk::Slice slice = resolve(operand.resource);
    if (!slice) fail(Code::internal, "{}: no buffer for {}", dispatch.label, to_string(operand.resource));
    bindings.push_back({slice, operand.access});
  }
  const vk::Pipeline& pipeline = library.pipeline(dispatch.kernel, dispatch.constants, dispatch.subgroup);
  if (dispatch.indirect_offset) {
    const vk::Slice state = resolve({ResourceKind::state});
    recorder.dispatch_indirect(pipeline, bindings, dispatch.push, state.part(*dispatch.indirect_offset, 12), dispatch.label);
  } else {
    recorder.dispatch(pipeline, bindings, dispatch.push, dispatch.groups[0], dispatch.groups[1], dispatch.groups[2], dispatch.label);
  }
}

std::uint64_t shader_hash() {
  Fnv1a hash;
  for (const KernelInfo& kernel : kernel_table()) {
    for (const std::uint32_t word : kernel.spirv) hash.add_word(word);
  }
  return hash.value();
}

}  // namespace skipstone::kernels
