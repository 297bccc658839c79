// Uses the tools of the installed library: quantises the model file arguments[1] as arguments[2], and sees that errors of the tools are the
// thread's last error as the runtime's are.
#include <cstdio>
#include <cstring>
#include <skipstone/tools.hpp>

int main(int, char** arguments) {
  skipstone_quantize_params params = skipstone::quantize_params();
  params.model_path = "there-is-no-such-model.gguf";
  params.output_path = arguments[2];
  if (skipstone_quantize(&params, nullptr) != SKIPSTONE_NOT_FOUND || std::strstr(skipstone_last_error(), "no-such-model") == nullptr) {
    std::printf("the last error is '%s'\n", skipstone_last_error());
    return 1;
  }
  params.model_path = arguments[1];
  params.overwrite = 1;
  std::puts(skipstone::quantize(params).c_str());

  skipstone_inspect_params inspect = skipstone::inspect_params();
  inspect.model_path = arguments[2];
  return skipstone::inspect(inspect).find("\"Q8_0\"") == std::string::npos ? 1 : 0;
}
