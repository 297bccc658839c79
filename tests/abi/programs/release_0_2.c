/* The same for the headers from 0.2 on: what a program of that release uses, with every struct between guards. */
#include <skipstone/skipstone.h>
#include <stdio.h>
#include <string.h>

#define GUARDED(type)          \
  struct {                     \
    unsigned char before[64];  \
    type value;                \
    unsigned char behind[256]; \
  }

static int damaged = 0;

static void check_guard(const unsigned char* bytes, size_t count, const char* name) {
  size_t i;
  for (i = 0; i < count; ++i) {
    if (bytes[i] == 0xA5) continue;
    printf("the library wrote beyond %s\n", name);
    damaged = 1;
    return;
  }
}

#define INIT(variable, call)                                    \
  memset(&variable, 0xA5, sizeof(variable));                    \
  call(&variable.value, sizeof(variable.value));                \
  check_guard(variable.before, sizeof(variable.before), #call); \
  check_guard(variable.behind, sizeof(variable.behind), #call)

static int print_chunk(const skipstone_chunk* chunk, void* user_data) {
  (void)user_data;
  if (chunk->struct_size < sizeof(*chunk)) damaged = 1;
  fwrite(chunk->text, 1, chunk->bytes, stdout);
  return 0;
}

static int fail(const char* what) {
  printf("%s: %s\n", what, skipstone_last_error());
  return 1;
}

int main(int count, char** arguments) {
  GUARDED(skipstone_engine_params) engine_params;
  GUARDED(skipstone_session_params) session_params;
  GUARDED(skipstone_inspect_params) inspect_params;
  GUARDED(skipstone_doctor_params) doctor_params;
  GUARDED(skipstone_stats) stats;
  GUARDED(skipstone_engine_info) info;
  GUARDED(skipstone_drafter_info) drafter;
  skipstone_engine* engine = NULL;
  skipstone_session* session = NULL;
  skipstone_token tokens[64];
  size_t token_count = 0;
  const char* prompt = "def f(";
  char* report = NULL;

  INIT(engine_params, skipstone_engine_params_init);
  INIT(session_params, skipstone_session_params_init);
  INIT(inspect_params, skipstone_inspect_params_init);
  INIT(doctor_params, skipstone_doctor_params_init);
  if (count < 2 || skipstone_abi_version() < SKIPSTONE_ABI_VERSION) return 2;
  memset(&drafter, 0xA5, sizeof(drafter));
  drafter.value.struct_size = sizeof(drafter.value);
  if (skipstone_drafter_get_info(0, &drafter.value) != SKIPSTONE_OK || strlen(drafter.value.name) == 0) return fail("drafters");
  check_guard(drafter.behind, sizeof(drafter.behind), "skipstone_drafter_get_info");
  inspect_params.value.model_path = arguments[1];
  if (skipstone_inspect(&inspect_params.value, &report) != SKIPSTONE_OK) return fail("inspect");
  skipstone_string_free(report);

  engine_params.value.model_path = arguments[1];
  engine_params.value.context = 128;
  if (skipstone_engine_load(&engine_params.value, &engine) != SKIPSTONE_OK) return fail("load");
  memset(&info, 0xA5, sizeof(info));
  info.value.struct_size = sizeof(info.value);
  if (skipstone_engine_get_info(engine, &info.value) != SKIPSTONE_OK || info.value.layers != 20) return fail("info");
  check_guard(info.behind, sizeof(info.behind), "skipstone_engine_get_info");
  session_params.value.draft = "suffix";
  session_params.value.seed = 7;
  session_params.value.temperature = 0.5f;
  if (skipstone_session_create(engine, &session_params.value, &session) != SKIPSTONE_OK) return fail("session");
  if (skipstone_tokenize(engine, prompt, strlen(prompt), 1, 0, tokens, 64, &token_count) != SKIPSTONE_OK) return fail("tokenize");
  printf("text: ");
  if (skipstone_session_generate(session, tokens, token_count, 24, print_chunk, NULL) != SKIPSTONE_OK) return fail("generate");
  memset(&stats, 0xA5, sizeof(stats));
  stats.value.struct_size = sizeof(stats.value);
  if (skipstone_session_stats(session, &stats.value) != SKIPSTONE_OK) return fail("statistics");
  check_guard(stats.behind, sizeof(stats.behind), "skipstone_session_stats");
  if (stats.value.generated_tokens != 24) return fail("tokens counted");
  if (skipstone_session_report(session, &report) != SKIPSTONE_OK || strstr(report, "\"suffix\"") == NULL) return fail("report");
  skipstone_string_free(report);
  skipstone_session_free(session);
  skipstone_engine_free(engine);
  printf("\n%s\n", damaged ? "damaged" : "intact");
  return damaged;
}
