"""NumPy and DLPack both ways: no copies, lifetimes, what is refused."""
import gc
import pickle
import unittest
import weakref

import numpy as np

import weft
from oracle import array, assert_equal, needs_torch, torch

TYPES = {np.float32: weft.float32, np.float64: weft.float64, np.float16: weft.float16,
         np.int64: weft.int64, np.int32: weft.int32, np.int8: weft.int8, np.uint8: weft.uint8,
         np.bool_: weft.bool}


def address(a):
    return a.__array_interface__["data"][0]


class FromNumPy(unittest.TestCase):
    def test_every_type_shares_memory_both_ways(self):
        for numpy_type, dtype in TYPES.items():
            with self.subTest(dtype=dtype):
                a = np.arange(12).reshape(3, 4).astype(numpy_type)
                x = weft.from_numpy(a)
                self.assertIs(x.dtype, dtype)
                self.assertEqual(x.data_ptr(), address(a))
                a[1, 2] = 1
                a[0, 0] = 0
                assert_equal(x, a)
                self.assertEqual(address(x.numpy()), address(a))

    def test_views_keep_strides_negative_ones_too(self):
        a = array(4, 6)
        for view in (a[::-1], a[:, ::-2], a.T, a[1:3, 2:], a[::2, 3]):
            x = weft.from_numpy(view)
            self.assertEqual(x.data_ptr(), address(view))
            assert_equal(x, view)
            assert_equal(x * 2, view * 2)
        x = weft.from_numpy(a[::-1])
        x[0, 0] = 77.0
        self.assertEqual(a[3, 0], 77.0)

    def test_empty_and_zero_dimensional(self):
        assert_equal(weft.from_numpy(np.zeros((0, 3), np.float32)), np.zeros((0, 3), np.float32))
        assert_equal(weft.from_numpy(np.array(3.5)), np.array(3.5))

    def test_the_tensor_keeps_the_array_alive(self):
        a = array(1000)
        want, gone = a.copy(), weakref.ref(a)
        x = weft.from_numpy(a)[10:20]
        del a
        gc.collect()
        self.assertIsNotNone(gone())
        assert_equal(x, want[10:20])
        del x
        gc.collect()
        self.assertIsNone(gone())

    def test_the_array_keeps_the_tensor_alive(self):
        a = weft.arange(1000).numpy()
        gc.collect()
        junk = [weft.zeros(1000) for _ in range(50)]
        assert_equal(a, np.arange(1000))
        del junk

    def test_read_only_arrays_are_refused_and_copied_by_tensor(self):
        a = array(5)
        a.flags.writeable = False
        with self.assertRaisesRegex(ValueError, "may only be read"):
            weft.from_numpy(a)
        x = weft.tensor(a)
        x[0] = 9.0
        self.assertNotEqual(a[0], 9.0)
        self.assertNotEqual(weft.asarray(a).data_ptr(), address(a))

    def test_refusals_say_what_to_do(self):
        with self.assertRaisesRegex(TypeError, "astype"):
            weft.from_numpy(np.zeros(3, np.complex64))
        with self.assertRaisesRegex(TypeError, "astype"):
            weft.from_numpy(np.zeros(3, np.uint16))
        with self.assertRaisesRegex(TypeError, "astype"):
            weft.from_numpy(np.zeros(3, ">f4"))
        with self.assertRaisesRegex(ValueError, "aligned"):
            weft.from_numpy(np.frombuffer(bytearray(17), np.uint8)[1:].view(np.float32))
        with self.assertRaises(TypeError):
            weft.from_numpy([1, 2])
        with self.assertRaises(TypeError):
            weft.from_numpy(None)
        with self.assertRaisesRegex(ValueError, "at most 8 axes"):
            weft.from_numpy(np.zeros((1,) * 9, np.float32))

    def test_asarray_shares_or_copies_as_told(self):
        a = array(4)
        self.assertEqual(weft.asarray(a).data_ptr(), address(a))
        self.assertNotEqual(weft.asarray(a, copy=True).data_ptr(), address(a))
        x = weft.ones(3)
        self.assertEqual(weft.asarray(x).data_ptr(), x.data_ptr())
        with self.assertRaises(ValueError):
            weft.asarray([1, 2], copy=False)
        with self.assertRaises(ValueError):
            weft.asarray(a, dtype=weft.float64, copy=False)


class ToNumPy(unittest.TestCase):
    def test_history_is_refused_with_the_remedy(self):
        x = weft.ones(3, requires_grad=True)
        with self.assertRaisesRegex(RuntimeError, "detach"):
            x.numpy()
        with self.assertRaisesRegex(RuntimeError, "detach"):
            np.asarray(x)
        self.assertEqual(address(x.detach().numpy()), x.data_ptr())

    def test_bfloat16_says_float(self):
        x = weft.ones(3, dtype=weft.bfloat16)
        with self.assertRaisesRegex(TypeError, "float"):
            x.numpy()
        assert_equal(x.float(), np.ones(3, np.float32))

    def test_blocked_results_of_convolutions_are_laid_out(self):
        x, w = array(2, 3, 8, 8), array(16, 3, 3, 3, seed=1)
        y = weft.conv2d(weft.from_numpy(x), weft.from_numpy(w))
        self.assertEqual(y.numpy().shape, (2, 16, 6, 6))
        self.assertAlmostEqual(float(y.numpy()[0, 0, 0, 0]), float((x[0, :, :3, :3] * w[0]).sum()),
                               places=4)

    def test_arithmetic_of_arrays_and_tensors_gives_tensors(self):
        for y in (np.ones(3) + weft.ones(3), weft.ones(3) + np.ones(3)):
            self.assertIsInstance(y, weft.Tensor)
            assert_equal(y, np.full(3, 2.0))
        assert_equal(np.float32(2.0) * weft.ones(3), np.full(3, 2, np.float32))

    def test_pickle_and_deepcopy(self):
        import copy
        for dtype in (weft.float32, weft.bfloat16, weft.int64, weft.bool):
            for x in (weft.arange(6).reshape(2, 3).to(dtype), weft.ones((), dtype=dtype),
                      weft.ones(0, 2, dtype=dtype)):
                for y in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
                    self.assertIs(y.dtype, dtype)
                    self.assertEqual(y.shape, x.shape)
                    self.assertEqual(y.tolist(), x.tolist())
                    self.assertTrue(x.numel() == 0 or y.data_ptr() != x.data_ptr())


class DLPack(unittest.TestCase):
    def test_numpy_takes_it_without_a_copy(self):
        x = weft.arange(12).reshape(3, 4)[:, 1:]
        a = np.from_dlpack(x)
        self.assertEqual(address(a), x.data_ptr())
        assert_equal(a, x)

    def test_numpy_gives_it_without_a_copy_and_lives(self):
        a = array(6, 4)
        want, gone = a.copy(), weakref.ref(a)
        x = weft.from_dlpack(a)
        self.assertEqual(x.data_ptr(), address(a))
        del a
        gc.collect()
        assert_equal(x, want)
        del x
        gc.collect()
        self.assertIsNone(gone())

    def test_what_newer_consumers_ask_for(self):
        x = weft.ones(3)
        self.assertEqual(weft.from_dlpack(x.__dlpack__(max_version=(1, 0), dl_device=(1, 0),
                                                       copy=False)).data_ptr(), x.data_ptr())
        self.assertNotEqual(weft.from_dlpack(x.__dlpack__(copy=True)).data_ptr(), x.data_ptr())
        with self.assertRaises(BufferError):
            x.__dlpack__(dl_device=(2, 0))
        self.assertEqual(address(x.__array__(copy=False)), x.data_ptr())
        self.assertNotEqual(address(x.__array__(copy=True)), x.data_ptr())
        self.assertEqual(x.__array__(np.float64).dtype, np.float64)
        with self.assertRaises(ValueError):
            x.__array__(np.float64, copy=False)

    def test_a_capsule_is_taken_once(self):
        capsule = weft.ones(3).__dlpack__()
        weft.from_dlpack(capsule)
        with self.assertRaises((ValueError, TypeError)):
            weft.from_dlpack(capsule)

    def test_refusals(self):
        with self.assertRaisesRegex(ValueError, "detach"):
            weft.ones(2, requires_grad=True).__dlpack__()
        with self.assertRaises(TypeError):
            weft.from_dlpack(3)
        with self.assertRaises(TypeError):
            weft.from_dlpack(np.zeros(2, np.complex128))
        self.assertEqual(weft.ones(1).__dlpack_device__(), (1, 0))

    @needs_torch
    def test_torch_both_ways(self):
        for dtype in (torch.float32, torch.bfloat16, torch.float16, torch.int64, torch.uint8):
            t = torch.arange(6).reshape(2, 3).to(dtype)
            x = weft.from_dlpack(t)
            self.assertEqual(x.data_ptr(), t.data_ptr())
            self.assertEqual(x.tolist(), t.tolist())
            back = torch.from_dlpack(x)
            self.assertEqual(back.data_ptr(), t.data_ptr())
            self.assertIs(back.dtype, dtype)
