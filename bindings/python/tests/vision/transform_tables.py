"""The calls that Weft and torchvision answer alike. A row that begins with "~" may differ by 1 of
255 where a half is rounded: the order of sums decides there."""

TENSORS = ("u1", "u3", "v3", "b3", "f1", "f3", "h3")
BYTES = ("u1", "u3", "v3", "b3")
PICTURES = ("pL", "pRGB", "pRGBA", "p1", "pI", "pF", "pP", "pLA")
COLORED = ("pL", "pRGB", "pRGBA")
FILTERS = ("NEAREST", "BILINEAR", "BICUBIC", "BOX", "HAMMING", "LANCZOS")
SQUARE = "[[0, 0], [12, 0], [12, 9], [0, 9]]"
MOVED = "[[1, 2], [11, 1], [10, 8], [0, 7]]"


def _sizes():
    for size in ("7", "(9, 30)", "[5]", "(13, 17)"):
        for name in PICTURES:
            yield f"F.resize({name}, {size})"
        for name in TENSORS:
            yield f"F.resize({name}, {size}, M.NEAREST)"
            mark = "~" if name in BYTES else ""
            yield mark + f"F.resize({name}, {size})"
            yield mark + f"F.resize({name}, {size}, M.BICUBIC)"
            yield mark + f"F.resize({name}, {size}, antialias=True)"
            yield mark + f"F.resize({name}, {size}, M.BICUBIC, antialias=True)"
    for each in FILTERS:
        yield f"F.resize(pRGB, 9, M.{each})"
    for name in ("pRGB", "u3"):
        yield f"F.resize({name}, 9, M.NEAREST, max_size=11)"
    for padding in ("2", "(1, 3)", "[1, 2, 3, 0]", "(-2, 1, 3, -1)", "[4]"):
        for mode in ("constant", "edge", "reflect", "symmetric"):
            for name in PICTURES + ("u1", "u3", "b3", "f3"):
                yield f"F.pad({name}, {padding}, padding_mode='{mode}')"
    for name in ("pRGB", "pL", "pF", "u3", "f3"):
        yield f"F.pad({name}, (1, 2), 9)"
    yield "F.pad(pRGB, 2, (1, 2, 3))"
    for place in ("0, 0, 5, 6", "-2, 3, 9, 30", "4, -3, 30, 8", "10, 12, 5, 5"):
        yield from (f"F.crop({name}, {place})" for name in PICTURES + TENSORS)
    for size in ("6", "(8, 40)", "[30, 31]", "[5]", "(9, 12)"):
        yield from (f"F.center_crop({name}, {size})" for name in ("pRGB", "p1", "pI") + TENSORS)
    for name in ("pRGB", "pL", "f3", "h3"):
        yield f"F.resized_crop({name}, 1, 2, 6, 5, (9, 7))"
    for name in PICTURES + TENSORS:
        yield from (f"F.{call}({name})" for call in ("hflip", "vflip", "get_dimensions",
                                                     "get_image_size", "get_image_num_channels"))
    for name in ("pRGB", "u3", "h3"):
        yield from (f"F.five_crop({name}, (4, 5))", f"F.ten_crop({name}, 5)",
                    f"F.ten_crop({name}, [6], vertical_flip=True)")


def _maps():
    # A quarter turn of v3, whose sides differ by an odd number, looks up places between two pixels
    # each: which of them PyTorch takes depends on how a product of matrices is cut into pieces.
    for name in PICTURES + TENSORS:
        for angle in ("0", "90", "-17.5", "30", "180"):
            if name != "v3" or angle != "90":
                yield f"F.rotate({name}, {angle})"
        yield f"F.rotate({name}, 45, expand=True)"
        if name != "v3":
            yield f"F.rotate({name}, 90, expand=True)"
        yield f"F.rotate({name}, 20.0, center=(3, 4), fill=5)"
        yield f"F.affine({name}, 10, (1, -2), 1.2, 5)"
        yield f"F.affine({name}, -30.0, [0, 3], 0.8, (5.0, -8.0), fill=3, center=[2, 1])"
        yield f"F.perspective({name}, {SQUARE}, {MOVED}, M.NEAREST)"
    for name in ("pL", "pRGB", "pRGBA", "pF", *TENSORS):
        for call in ("rotate({0}, 33, M.BILINEAR{1})",
                     "rotate({0}, 90, M.BILINEAR, expand=True{1})",
                     "affine({0}, 12, (2, 1), 1.1, (4, 3), M.BILINEAR{1})",
                     f"perspective({{0}}, {SQUARE}, {MOVED}{{1}})"):
            if name != "v3" or "90" not in call:
                yield "F." + call.format(name, "")
                yield "F." + call.format(name, ", fill=7")
    for name in ("pRGB", "u3", "f3", "h3"):
        yield f"F.rotate({name}, 25, fill=[1, 2, 3])"
    yield "F.rotate(pRGB, 25, M.BICUBIC, expand=True, fill=(9, 8, 7))"
    for name in ("u3", "f3"):
        yield f"F.elastic_transform({name}, torch.linspace(-0.2, 0.2, 442).reshape(1, 13, 17, 2))"


def _colors():
    for name in COLORED + TENSORS:
        for factor in ("0", "0.4", "1", "1.7", "3.0"):
            for call in ("brightness", "contrast", "saturation", "sharpness"):
                if call == "sharpness" or name not in ("h3", "v3") or factor != "0":
                    yield f"F.adjust_{call}({name}, {factor})"
        yield f"F.adjust_gamma({name}, 0.6)"
        yield f"F.adjust_gamma({name}, 2.2, 1.3)"
    for name in ("pL", "pRGB", "p1", "pI", "pF") + TENSORS:
        yield from (f"F.adjust_hue({name}, {each})" for each in (-0.5, -0.13, 0, 0.25, 0.5))
    for name in ("pL", "pRGB") + TENSORS:
        yield from (f"F.invert({name})", f"F.autocontrast({name})")
        limit = "0.5" if name in ("f1", "f3", "h3") else "128"
        yield from (f"F.solarize({name}, {limit})", f"F.solarize({name}, 0)")
    for name in ("pL", "pRGB", "pP") + BYTES:
        yield f"F.equalize({name})"
    for name in ("pL", "pRGB") + BYTES:
        yield from (f"F.posterize({name}, {bits})" for bits in (0, 1, 3, 8))
    for name in PICTURES:
        yield from (f"F.to_grayscale({name})", f"F.to_grayscale({name}, 3)")
    for name in ("pRGB", "pRGBA") + TENSORS:
        yield from (f"F.rgb_to_grayscale({name})", f"F.rgb_to_grayscale({name}, 3)")
    for name in ("pL", "pRGB", "pRGBA") + TENSORS:
        for kernel in ("3", "(5, 3), 1.3", "[3, 7], [0.5, 2.0]"):
            mark = "~" if name not in ("f1", "f3", "h3") else ""
            yield mark + f"F.gaussian_blur({name}, {kernel})"
    yield "torch.stack([F.equalize(u3 // 100), F.equalize(u3 * 0 + 9)])"
    yield "F.autocontrast(f3 * 0 + 0.5)"


def _conversions():
    for name in PICTURES:
        yield from (f"F.to_tensor({name})", f"F.pil_to_tensor({name})", f"T.ToTensor()({name})",
                    f"T.PILToTensor()({name})")
    yield from (f"F.to_tensor(np.{each})" for each in (
        "arange(24, dtype=np.uint8).reshape(2, 4, 3)", "arange(8, dtype=np.uint8).reshape(2, 4)",
        "ones((2, 3, 4), np.float32)", "arange(6, dtype=np.int64).reshape(2, 3)"))
    for name in ("u1", "u3", "f1", "f3", "u3[:2]", "torch.cat([u3, u3[:1]])", "u3[0]", "f3[1]"):
        yield f"F.to_pil_image({name})"
    yield from ("F.to_pil_image(f1, 'F')", "F.to_pil_image(u1.int())",
                "F.to_pil_image(u3, 'YCbCr')", "T.ToPILImage('HSV')(u3)",
                "T.ToPILImage()(np.arange(12, dtype=np.uint8).reshape(3, 4))",
                "F.to_pil_image(np.arange(24, dtype=np.uint8).reshape(2, 4, 3))",
                "F.to_pil_image(np.ones((3, 4, 1), np.float32))", "F.to_pil_image(u3, 'RGB')")
    for name in ("u3", "f3", "u3.int() * 9000000", "u3.long()", "f3.double()"):
        for kind in ("uint8", "int8", "int32", "int64", "float32", "float64"):
            yield f"F.convert_image_dtype({name}, torch.{kind})"
    for name in ("f1", "f3", "h3"):
        yield f"F.normalize({name}, [0.5], (0.25,))"
    for name in ("f3", "h3"):
        yield f"F.normalize({name}, (0.485, 0.456, 0.406), (0.229, 0.224, 0.225))"
    yield "F.normalize(f3.clone(), (0.5, 0.4, 0.3), (0.1, 0.2, 0.3), inplace=True)"
    for name in ("u3", "f3", "h3"):
        yield from (f"F.erase({name}, 1, 2, 3, 4, 0)",
                    f"F.erase({name}, 1, 2, 3, 4, torch.tensor([1, 2, 3])[:, None, None])")


def _modules():
    shown = """Compose([T.ToTensor(), T.Lambda(abs)]) ToTensor() PILToTensor() ToPILImage()
        ToPILImage('L') Normalize([0.5],[0.2]) Resize(5) Resize((5,6),M.BICUBIC,antialias=True)
        CenterCrop(5) CenterCrop([5,6]) Pad(3) Pad((1,2),7,'edge') RandomCrop(5,padding=(1,2))
        RandomHorizontalFlip() RandomVerticalFlip(0.1) RandomResizedCrop(9) RandomResizedCrop((9,8))
        FiveCrop(3) TenCrop([3],True) ColorJitter() ColorJitter(0.5,(0.1,2),0.3,0.2)
        RandomRotation(10) RandomRotation((5,20),M.BILINEAR,True,(1,2),3) RandomAffine(10)
        RandomAffine((1,2),(0.1,0.2),(0.5,2),(1,2,3,4),M.BILINEAR,5,(1,2)) RandomPerspective()
        Grayscale(3) RandomGrayscale() RandomErasing() RandomErasing(0.2,value='random')
        GaussianBlur(3) GaussianBlur((3,5),0.7) RandomInvert() RandomPosterize(3)
        RandomSolarize(9.5) RandomAdjustSharpness(2,0.3) RandomAutocontrast() RandomEqualize()
        RandomApply([T.ToTensor()])
        RandomChoice([T.ToTensor()],[1]) RandomOrder([T.ToTensor(),T.Grayscale()]) AutoAugment()
        AutoAugment(T.AutoAugmentPolicy.SVHN,fill=3) RandAugment() TrivialAugmentWide() AugMix()
        ConvertImageDtype(torch.float32) LinearTransformation(torch.eye(2),torch.zeros(2))"""
    yield from (f"repr(T.{each})" for each in shown.split())
    made = """RandomCrop(8) RandomCrop(8,padding=2) RandomCrop((7,9),(1,2),padding_mode='reflect')
        RandomCrop(24,pad_if_needed=True) RandomHorizontalFlip() RandomVerticalFlip()
        RandomResizedCrop(7)
        RandomResizedCrop((5,9),(0.5,1.0),interpolation=M.NEAREST) ColorJitter(0.5,0.5,0.5,0.2)
        RandomRotation(40) RandomRotation((10,60),expand=True,fill=9)
        RandomAffine(30,(0.2,0.1),(0.7,1.3),(-10,10,-5,5)) RandomPerspective(0.6,0.9,M.NEAREST)
        RandomGrayscale(0.5) RandomInvert() RandomPosterize(2) RandomSolarize(100)
        RandomAdjustSharpness(2) RandomAutocontrast() RandomEqualize()
        RandomApply([T.RandomInvert(1.0),T.Pad(1)])
        RandomChoice([T.RandomInvert(1.0),T.Pad(1)],[0.3,0.7])
        RandomOrder([T.RandomCrop(9),T.Pad(1),T.RandomInvert()]) AutoAugment()
        AutoAugment(T.AutoAugmentPolicy.CIFAR10) AutoAugment(T.AutoAugmentPolicy.SVHN,fill=9)
        RandAugment() RandAugment(4,15,fill=7) TrivialAugmentWide() AugMix(interpolation=M.NEAREST)
        """.split()
    for each in made:
        for name in ("pRGB", "u3", "b3"):
            mark = "~" if "ResizedCrop(7" in each and name != "pRGB" else ""
            for extra in ("", " # again", " # and again"):
                yield mark + f"T.{each}({name}){extra}"
    for name in ("f3", "h3"):
        for extra in ("", " # again"):
            yield from (f"T.RandomErasing(0.9)({name}){extra}",
                        f"T.RandomErasing(0.9, value='random')({name}){extra}",
                        f"T.RandomErasing(0.9, value=(1, 2, 3))({name}){extra}",
                        f"T.GaussianBlur(5)({name}){extra}",
                        f"T.RandomResizedCrop(7)({name}){extra}",
                        f"T.RandomAffine(30, (0.2, 0.1), interpolation=M.BILINEAR)({name}){extra}",
                        f"T.RandomPerspective(0.6, 0.9, fill=2)({name}){extra}")
    yield from ("T.ElasticTransform(20.0, 0.4)(f3)", "~T.ElasticTransform(30.0, 0.5)(u3)",
                "T.LinearTransformation(torch.eye(6) * 2, torch.ones(6))(f3[:, :1, :2].clone())",
                "T.Compose([T.Resize(9, M.NEAREST), T.CenterCrop(7), T.Lambda(lambda x: x + 1)])"
                "(u3)", "T.Compose([T.Resize(12), T.CenterCrop(9), T.ToTensor(), "
                "T.Normalize([.5], [.2])])(pRGB)",
                "torch.nn.Sequential(T.CenterCrop(9), T.ConvertImageDtype(torch.float32), "
                "T.Normalize([.5], [.2]))(b3)", "T.FiveCrop(5)(pRGB)", "T.TenCrop(5)(u3)",
                "T.Grayscale(3)(pRGB)", "T.Grayscale()(b3)", "T.Pad((1, 2), 3, 'symmetric')(b3)")


def rows():
    """All rows, in order, each once."""
    return list(dict.fromkeys([*_sizes(), *_maps(), *_colors(), *_conversions(), *_modules()]))
