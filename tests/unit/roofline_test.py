#!/usr/bin/env python3
"""tools/roofline: numbers computed by hand from small made-up tables, and input that is no good."""
import importlib.machinery
import importlib.util
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools/roofline"
sys.path.insert(0, str(TOOL.parent))  # it imports a module beside it
loader = importlib.machinery.SourceFileLoader("roofline", str(TOOL))
spec = importlib.util.spec_from_loader("roofline", loader)
sys.dont_write_bytecode = True
roofline = importlib.util.module_from_spec(spec)
sys.modules["roofline"] = roofline
loader.exec_module(roofline)

COLUMNS = "kernel\tconstants\tsubgroup\tpass\tregisters\tspills\tscratch\toccupancy\tinstructions\tcycles\n"
DEVICES = ("name\ttarget\tbandwidth\tcache\tcores\tsimds\tclock\tissue\tfma\tsource\n"
           "small\tmade\t100\t0.1\t2\t2\t1\t32\t64\tnobody\n")
SHAPES = "name\tlayers\twidth\theads\tkv_heads\thead_dim\tffn\tvocabulary\nm\t2\t2048\t32\t8\t64\t4096\t8192\n"


def row(kernel, constants, rows, instructions, cycles):
    return f"{kernel}\t{constants}\t0\trows {rows}\t1\t0\t0\t1\t{instructions}\t{cycles}\n"


def table(title, lanes, figures):
    """`figures`: rows of the pass to (columns, instructions, cycles); a kernel with a norm takes 100 instructions and 800 cycles more."""
    text = f"# {title}\n" + COLUMNS
    for weights in ("f16", "q8_0"):
        for rows, (columns, instructions, cycles) in figures.items():
            for norm, residual, epilogue in ((0, 1, 0), (1, 0, 0), (1, 0, 1), (1, 0, 2)):
                text += row(f"matvec_{weights}", f"{lanes},{lanes},4,{columns},1,{norm},0,{residual},{epilogue}", rows,
                            instructions + 100 * norm, cycles + 800 * norm)
    return text + row("attention", f"{lanes},1,64,4,64,0", 1, 500, 3000)


AMD = table("made up, radv 1", 64, {1: (1, 10, 8000), 2: (2, 11, 8800), 4: (4, 12, 10400), 8: (8, 13, 16000), 12: (12, 13, 24000)})


class Roofline(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)
        self.folder = pathlib.Path(self.place.name)
        self.write(AMD)

    def write(self, made=None, devices=DEVICES, shapes=SHAPES):
        for name, text in (("made.tsv", made), ("devices.tsv", devices), ("shapes.tsv", shapes)):
            if text is not None:
                (self.folder / name).write_text(text, encoding="utf-8")

    def model(self, weights="q8_0", launch=0.0, **changes):
        device = roofline.devices(self.folder / "devices.tsv")[0]
        for name, value in changes.items():
            setattr(device, name, value)
        shape = roofline.models(self.folder / "shapes.tsv")["m"]
        return roofline.Model(device, roofline.Target(self.folder / "made.tsv"), shape, weights, 1024, launch)

    def test_matrix_by_hand(self):
        cost = self.model().matrix(4096, 2048, 1, (0, 1, 0))
        # Q8_0: 34 bytes of 32 weights, and floats of a row of 2048 and 4096; 100 GB/s.
        self.assertAlmostEqual(cost.memory, (4096 * 2048 * 34 / 32 + 4 * 6144) / 100e9, delta=1e-12)
        # 4096 / 4 workgroups on 4 SIMDs; a turn is 8000 / 8 cycles, the 64 lanes' sums 64 times a load and an addition, of 64 lanes by 32.
        self.assertAlmostEqual(cost.simd, 256 * (1000 + 2 * 64 * 2) / 1e9, delta=1e-12)
        # Of a turn: 4 rows of 32 weights by 64 lanes, 64 at a time; for the weights 8000 - 800 cycles of 8 turns.
        self.assertAlmostEqual(cost.fma, 256 * 128 / 1e9, delta=1e-12)
        self.assertAlmostEqual(cost.unpack, 256 * 900 / 1e9, delta=1e-12)
        self.assertEqual(cost.norm, 0)

    def test_norm_and_turns(self):
        cost = self.model().matrix(4096, 4096, 8, (1, 0, 0))  # 128 blocks by 64 lanes: two turns
        sums = 2 * 2 * 64 * 1 * 2  # 32 outputs of a workgroup: one for each lane
        self.assertAlmostEqual(cost.simd, 256 * (2 * 16800 / 8 + sums) / 1e9, delta=1e-12)
        self.assertAlmostEqual(cost.norm, 256 * 2 * 100 / 1e9, delta=1e-12)

    def test_short_rows_have_fewer_lanes(self):
        for most, blocks, wanted in ((64, 18, 32), (64, 48, 64), (64, 64, 64), (64, 96, 32), (64, 128, 64), (32, 18, 32), (32, 96, 32), (16, 18, 16), (16, 2, 8)):
            self.assertEqual(roofline.k_lanes(most, blocks), wanted, (most, blocks))
        cost = self.model().matrix(4096, 576, 1, (0, 1, 0))  # 18 blocks: 32 lanes for each of two groups of rows
        self.assertAlmostEqual(cost.simd, 128 * (1000 + 2 * 32 * 2) / 1e9, delta=1e-12)

    def test_columns_read_weights_again(self):
        weights, activations = 4096 * 2048 * 2, 4 * 16 * 6144
        self.assertAlmostEqual(self.model("f16").matrix(4096, 2048, 16, (0, 1, 0)).memory, (2 * weights + activations) / 100e9, delta=1e-12)
        cached = self.model("f16", cache=64.0).matrix(4096, 2048, 16, (0, 1, 0))
        self.assertAlmostEqual(cached.memory, (weights + activations) / 100e9, delta=1e-12)

    def test_few_workgroups_leave_simds_idle(self):
        cost = self.model(simds=1000.0).matrix(400, 2048, 1, (0, 1, 0))
        self.assertAlmostEqual(cost.simd, 1256 / 1e9, delta=1e-12)

    def test_instructions_of_other_compilers(self):
        self.write(table("NVK", 32, {1: (1, 500, 99999), 2: (2, 600, 99999)}))
        cost = self.model(fma=32.0).matrix(4096, 2048, 1, (0, 1, 0))
        # F16's turn has 128 conversions, 128 FMAs and 24 loads, so 500 - 280 run once; 64 blocks by 32 lanes are two turns.
        self.assertAlmostEqual(cost.simd, 256 * (2 * 280 + 220 + 2 * 32) / 1e9, delta=1e-12)

    def test_attention_by_hand(self):
        cost = self.model().attend(2)
        self.assertAlmostEqual(cost.memory, 1024 * 8 * 64 * 4 / 100e9, delta=1e-12)
        self.assertAlmostEqual(cost.simd, 16 * 8 * 2 / 4 * 3000 / 1e9, delta=1e-12)  # 16 chunks, 8 KV heads, 2 rows

    def test_fast_device_is_bound_by_memory(self):
        model = self.model("f16", clock=1e6)
        s = model.shape
        weights = 2 * (2 * (3072 * 2048 + 2048 * 2048 + 2 * 4096 * 2048 + 2048 * 4096) + 8192 * 2048)
        floats = 4 * (2 * (2048 + 3072 + 2048 + 2048 + 2048 + 8192 + 4096 + 2048) + 2048 + 8192)
        kv = s["layers"] * 1024 * 8 * 64 * 4
        self.assertAlmostEqual(model.total(1)[0], (weights + floats + kv) / 100e9, delta=1e-9)
        # 12 columns twice.
        self.assertAlmostEqual(model.total(24)[0], (2 * weights + 24 * floats + kv) / 100e9, delta=1e-9)

    def test_launches(self):
        seconds, launches, _ = self.model(launch=1e-6).total(1)
        self.assertAlmostEqual(launches, (2 * 7 + 3) * 1e-6, delta=1e-12)
        self.assertAlmostEqual(seconds - self.model().total(1)[0], launches, delta=1e-12)

    def test_dispatches_are_those_of_the_runtime(self):
        """plan_test compares this golden with what exec::PassBuilder makes of a Llama of two layers on a GPU."""
        plan = (TOOL.parents[1] / "tests/plan/goldens/decode_gpu.txt").read_text(encoding="utf-8").splitlines()[1:]
        labels = [line.split()[0] for line in plan]
        first, second = ([label.removeprefix(layer) for label in labels if label.startswith(layer)] for layer in ("blk.0.", "blk.1."))
        self.assertEqual(first, list(roofline.IN_LAYER))
        self.assertEqual(second, first)
        self.assertEqual([label for label in labels if not label.startswith("blk.")], list(roofline.ONCE))
        found = self.model().dispatches(1)
        self.assertEqual({name: times for name, (times, _) in found.items()}, {label.split(".", 2)[-1] if label.startswith("blk.") else label:
                         2 if label.startswith("blk.") else 1 for label in labels})

    def run_tool(self, *more):
        command = [sys.executable, str(TOOL), "--tables", str(self.folder), "--devices", str(self.folder / "devices.tsv"), "--shapes",
                   str(self.folder / "shapes.tsv"), "--formats", "f16,q8_0", *more]
        return subprocess.run(command, capture_output=True, text=True)

    def test_outputs(self):
        done = self.run_tool("--tsv")
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = [line.split("\t") for line in done.stdout.splitlines()]
        self.assertEqual([line[:3] for line in lines[1:]], [["small", "m", "f16"], ["small", "m", "q8_0"]])
        one = self.model("f16", launch=1.3e-6)
        self.assertEqual(lines[1][lines[0].index("v(8)")], f"{one.total(8)[0] / one.total(1)[0]:.2f}")
        picture = self.run_tool("--svg").stdout
        self.assertIn("<polyline", picture)
        self.assertIn("@media (prefers-color-scheme: dark)", picture)
        self.assertIn("v(8)", self.run_tool().stdout)

    def refused(self, text, *more):
        done = self.run_tool(*more)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(done.stdout, "")
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn(text, done.stderr)

    def test_bad_input(self):
        self.refused("there is no device 'fast'", "--device", "fast")
        self.refused("there is no format 'q9'", "--formats", "q9")
        self.write(devices=DEVICES.replace("\tclock", "\tclocks"))
        self.refused("has no column 'clock'")
        self.write(devices=DEVICES.replace("\t100\t", "\tnan\t"))
        self.refused("bandwidth 'nan' of small is no number above 0")
        self.write(devices=DEVICES.replace("\tnobody", ""))
        self.refused("row 1 has 9 fields, not 10")
        self.write(devices=DEVICES, made=AMD.replace("\tcycles", ""))
        self.refused("has no column 'cycles'")
        self.write(made="")
        self.refused("has no column 'kernel'")
        self.write(made=AMD.replace("attention", "attending"))
        self.refused("has no attention of 4 heads of 64")
        self.write(made=AMD.replace("matvec_q8_0\t64,64,4,1,1,", "matvec_q8_0\t64,x,4,"))
        self.refused("is no kernel that is known here")
        self.write(made="\n".join(line for line in AMD.splitlines() if not line.startswith("matvec_q8_0")))
        self.refused("has no matvec_q8_0 of 1 rows")
        (self.folder / "made.tsv").unlink()
        self.refused("made.tsv cannot be read")


if __name__ == "__main__":
    unittest.main()
